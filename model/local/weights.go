package local

// minAnswerability is the answerability that an answer needs.
const minAnswerability = 0.25

var rankWeights = evidence{exactFar: 2.58, far: 2.35, around: 1.58, wide: 2.87, elsewhere: -0.39, pairs: 0.17, phrase: 3.03, copied: -0.15, similar: 1.33, fit: 2.06, defines: 3.19, passage: 1.35, rank: 1.46, numbers: -0.26, headed: 1.42, first: 0.03, isRow: -0.79, figure: -0.97, rowKey: 5.51, rowColumn: 7.11, isItem: 0.72, isListed: 1.21, isRequested: 5.15, isLabel: 0.33, labelled: 3.55, short: -0.15, long: -0.36, asks: -2.96, repeats: -0.01, opposed: -0.44, flipped: -2.67, negated: -0.92}

var trustProse = trust{bias: -3.60, weights: evidence{near: 2.84, rarest: -0.41, elsewhere: -1.01, phrase: 1.73, copied: -0.29, fit: 0.32, fitNear: 0.85, unfit: -0.50, passage: 0.01, rank: 0.21, names: -0.11, unknownNames: -0.59, numbers: -0.21, headed: 1.55, first: -0.44, short: -1.17, long: -0.64, hangs: -0.19, opposed: -1.30, flipped: -4.04, negated: -3.28, terms: 0.26}}

var trustOther = trust{bias: -4.25, weights: evidence{exactFar: 1.28, near: 0.55, far: 1.85, rarest: -0.09, elsewhere: -0.15, similar: 0.75, fit: 0.08, defines: 2.10, unfit: -0.09, rank: 1.09, names: -0.32, numbers: -0.03, headed: 0.98, first: -0.09, isRow: -0.24, figure: -0.10, rowColumn: 1.26, isItem: -0.30, isListed: 1.16, isRequested: 5.20, isLabel: -0.11, short: 0.17, long: 0.27, hangs: -0.31, repeats: -2.76, opposed: -5.00, negated: -1.65, terms: 0.12, foreign: 0.49}}
