#include "textflag.h"

// func dotAVX2(v *byte, q *int16, n int) int32
//
// VPMOVSXBW extends 16 bytes to numbers of 16 bits. VPMADDWD multiplies them and adds neighbouring products to numbers of 32 bits.
TEXT ·dotAVX2(SB), NOSPLIT, $0-28
	MOVQ  v+0(FP), SI
	MOVQ  q+8(FP), DI
	MOVQ  n+16(FP), CX
	VPXOR Y0, Y0, Y0

loop:
	VPMOVSXBW (SI), Y1
	VPMADDWD  (DI), Y1, Y1
	VPADDD    Y1, Y0, Y0
	ADDQ      $16, SI
	ADDQ      $32, DI
	SUBQ      $16, CX
	JNZ       loop

	// the sum of the eight numbers in Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0x4e, X0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0xb1, X0, X1
	VPADDD       X1, X0, X0
	VMOVD        X0, AX
	VZEROUPPER
	MOVL         AX, ret+24(FP)
	RET
