package local

// minAnswerability is the answerability that an answer needs.
const minAnswerability = 0.28

var rankWeights = evidence{own: 0.19, exactFar: 1.82, near: 0.14, far: 2.93, around: 3.54, wide: 1.29, pairs: 0.40, phrase: 4.11, copied: -0.18, similar: 1.11, related: 0.90, fit: 1.34, defines: 4.20, unfit: -2.30, passage: 0.93, rank: 0.96, names: -1, numbers: -0.73, headed: 1.56, tasked: 4.00, acts: 1.00, first: 0.25, isRow: -1.56, figure: 0.32, rowColumn: 2.05, isItem: 0.40, isListed: 1.85, isRequested: 7.00, isLabel: -0.05, labelled: 4.38, short: 0.20, long: -0.48, asks: -1.16, hangs: -0.46, repeats: -8.67, opposed: -1.04, flipped: -2.54, negated: -1.18, measured: 0.59, amount: 0.9, unmeasured: -1.24, inRange: 3.46, outOfRange: -5.14, rowExact: 3.03, keyed: 1.74, literal: 5}

var trustProse = trust{bias: -3.64, weights: evidence{near: 1.37, far: 0.01, rarest: -0.70, elsewhere: -0.60, phrase: 0.87, copied: -0.21, related: 0.91, fit: 0.30, unfit: -0.80, rank: 0.94, names: -0.03, unknownNames: -1.36, headed: 0.43, first: -0.07, labelled: 2, short: 0.71, long: -0.26, asks: -2.43, opposed: -1.73, flipped: -3.08, negated: -2.66, terms: 0.26, measured: 0.80, amount: 0.8, unmeasured: -0.51, inRange: 1.63, keyed: 1.17, unstated: -1.71, literal: 1.5, unnamed: -4, aheadOfSome: 0.05, certain: 0.40}}

var trustOther = trust{bias: -4.34, weights: evidence{near: 0.67, far: 1.51, rarest: -0.14, copied: -0.01, similar: 0.63, related: 0.63, fit: 0.24, unfit: -0.48, rank: 1.06, unknownNames: -1.32, first: 0.06, isRow: -0.22, figure: 0.18, rowColumn: 1.79, isItem: 0.03, isListed: 1.99, isRequested: 3.78, isLabel: -0.38, labelled: 2.05, short: 0.31, long: 0.67, hangs: -0.36, opposed: -4.07, negated: -1.18, terms: 0.12, foreign: 0.44, measured: 0.28, amount: 0.8, unmeasured: -0.99, inRange: 1.63, rowExact: 0.12, keyed: 1.09, unstated: -1.71, literal: 1.5, unnamed: -4, aheadOfSome: 0.07, certain: 1.01}}
