package local

// minAnswerability is the answerability that an answer needs.
const minAnswerability = 0.27

var rankWeights = evidence{exactly: 0.03, exactFar: 2.51, far: 2.36, around: 1.47, wide: 2.78, elsewhere: -0.36, pairs: 0.54, phrase: 3.04, copied: -0.14, similar: 1.68, related: 0.13, fit: 2.07, defines: 2.86, passage: 1.29, rank: 1.47, numbers: -0.23, headed: 1.54, first: 0.08, isRow: -0.71, figure: -0.99, rowKey: 5.30, rowColumn: 7.11, isItem: 0.67, isListed: 1.26, isRequested: 5.09, isLabel: 0.35, labelled: 3.25, short: -0.05, long: -0.35, asks: -2.94, hangs: -0.43, repeats: -0.19, opposed: -0.36, flipped: -2.96, negated: -0.97}

var trustProse = trust{bias: -4.19, weights: evidence{near: 2.28, rarest: -0.63, elsewhere: -1.22, phrase: 1.6, copied: -0.25, related: 0.16, fit: 0.42, fitNear: 1.05, unfit: -0.7, passage: 0.41, rank: 0.82, names: -0.11, unknownNames: -1.37, headed: 0.89, first: -0.35, long: -0.71, hangs: -0.48, opposed: -1.61, flipped: -2.77, negated: -3.38, terms: 0.28, pairs: 0.03, similar: 0.16, numbers: -0.41}}

var trustOther = trust{bias: -4.38, weights: evidence{exactFar: 1.21, near: 0.30, far: 1.97, rarest: -0.15, elsewhere: -0.19, copied: 0.03, similar: 0.82, fit: 0.22, defines: 2.71, unfit: -0.04, rank: 1.18, names: -0.05, unknownNames: -1.33, headed: 1.05, first: -0.04, isRow: -0.19, figure: -0.17, rowColumn: 1.31, isItem: -0.32, isListed: 1.25, isRequested: 4.98, isLabel: -0.10, short: -0.10, long: 0.21, hangs: -0.43, repeats: -2.55, opposed: -5.07, negated: -1.62, terms: 0.12, foreign: 0.49}}
