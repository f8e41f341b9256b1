package local

// minAnswerability is the answerability that an answer needs.
const minAnswerability = 0.27

var rankWeights = evidence{own: 0.36, exactFar: 1.94, far: 2.54, around: 2.69, wide: 2.98, rarest: -0.10, elsewhere: -0.18, absent: -0.15, pairs: 0.39, phrase: 3.71, copied: -0.19, similar: 1.85, fit: 1.51, fitNear: 0.65, defines: 3.69, unfit: -0.61, passage: 1.49, rank: 1.44, numbers: -0.45, headed: 1.54, first: 0.14, isRow: -1.26, figure: 0.22, rowColumn: 4.13, isItem: 0.60, isListed: 2.04, isRequested: 1.36, isLabel: 0.51, labelled: 4.39, short: 0.16, long: -0.58, asks: -3.98, hangs: -0.53, repeats: -4.99, opposed: -0.89, flipped: -2.70, negated: -0.73, measured: 1.45, inRange: 2.73, outOfRange: -5.42, rowExact: 2.85}

var trustProse = trust{bias: -2.92, weights: evidence{near: 1.92, rarest: -0.53, elsewhere: -0.85, pairs: 0.20, phrase: 1.60, copied: -0.24, similar: 0.61, fit: 0.29, fitNear: 0.34, unfit: -1.02, unknownNames: -1.36, numbers: -0.82, headed: 0.82, first: -0.22, long: -0.64, hangs: -0.44, repeats: -2.72, opposed: -1.36, flipped: -2.94, negated: -3.31, terms: 0.23, measured: 1.02, names: -0.09, unmeasured: -0.06}}

var trustOther = trust{bias: -5.08, weights: evidence{exactFar: 1.26, near: 0.34, far: 2.29, rarest: -0.05, elsewhere: -0.25, copied: 0.04, similar: 0.74, related: 0.14, fit: 0.61, defines: 12.00, unfit: -0.58, rank: 1.59, unknownNames: -1.33, first: -0.11, isRow: -0.31, figure: -0.10, rowColumn: 2.22, isItem: -0.72, isListed: 2.07, isRequested: 0.62, isLabel: -0.44, labelled: 1.08, short: -0.69, long: 0.16, hangs: -0.81, opposed: -3.67, negated: -0.32, terms: 0.10, foreign: 0.58, measured: 0.61, unmeasured: -1.29, inRange: 1.02, rowExact: 0.08}}
