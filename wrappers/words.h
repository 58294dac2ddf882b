/* Lists of N machine words, for functions made from api.def: parameters, arguments, and types. */
#ifndef ESPI_WRAPPERS_WORDS_H
#define ESPI_WRAPPERS_WORDS_H

#define ESPI_PARAMS_1 espi_word a0
#define ESPI_PARAMS_2 ESPI_PARAMS_1, espi_word a1
#define ESPI_PARAMS_3 ESPI_PARAMS_2, espi_word a2
#define ESPI_PARAMS_4 ESPI_PARAMS_3, espi_word a3
#define ESPI_PARAMS_5 ESPI_PARAMS_4, espi_word a4
#define ESPI_PARAMS_6 ESPI_PARAMS_5, espi_word a5
#define ESPI_PARAMS_7 ESPI_PARAMS_6, espi_word a6
#define ESPI_PARAMS_8 ESPI_PARAMS_7, espi_word a7
#define ESPI_PARAMS_9 ESPI_PARAMS_8, espi_word a8
#define ESPI_PARAMS_10 ESPI_PARAMS_9, espi_word a9
#define ESPI_PARAMS_11 ESPI_PARAMS_10, espi_word a10
#define ESPI_PARAMS_12 ESPI_PARAMS_11, espi_word a11
#define ESPI_PARAMS_13 ESPI_PARAMS_12, espi_word a12

#define ESPI_ARGS_1 a0
#define ESPI_ARGS_2 ESPI_ARGS_1, a1
#define ESPI_ARGS_3 ESPI_ARGS_2, a2
#define ESPI_ARGS_4 ESPI_ARGS_3, a3
#define ESPI_ARGS_5 ESPI_ARGS_4, a4
#define ESPI_ARGS_6 ESPI_ARGS_5, a5
#define ESPI_ARGS_7 ESPI_ARGS_6, a6
#define ESPI_ARGS_8 ESPI_ARGS_7, a7
#define ESPI_ARGS_9 ESPI_ARGS_8, a8
#define ESPI_ARGS_10 ESPI_ARGS_9, a9
#define ESPI_ARGS_11 ESPI_ARGS_10, a10
#define ESPI_ARGS_12 ESPI_ARGS_11, a11
#define ESPI_ARGS_13 ESPI_ARGS_12, a12

#define ESPI_ZEROS_1 0
#define ESPI_ZEROS_2 ESPI_ZEROS_1, 0
#define ESPI_ZEROS_3 ESPI_ZEROS_2, 0
#define ESPI_ZEROS_4 ESPI_ZEROS_3, 0
#define ESPI_ZEROS_5 ESPI_ZEROS_4, 0
#define ESPI_ZEROS_6 ESPI_ZEROS_5, 0
#define ESPI_ZEROS_7 ESPI_ZEROS_6, 0
#define ESPI_ZEROS_8 ESPI_ZEROS_7, 0
#define ESPI_ZEROS_9 ESPI_ZEROS_8, 0
#define ESPI_ZEROS_10 ESPI_ZEROS_9, 0
#define ESPI_ZEROS_11 ESPI_ZEROS_10, 0
#define ESPI_ZEROS_12 ESPI_ZEROS_11, 0
#define ESPI_ZEROS_13 ESPI_ZEROS_12, 0

#define ESPI_ELEMENTS_1(a) a[0]
#define ESPI_ELEMENTS_2(a) ESPI_ELEMENTS_1(a), a[1]
#define ESPI_ELEMENTS_3(a) ESPI_ELEMENTS_2(a), a[2]
#define ESPI_ELEMENTS_4(a) ESPI_ELEMENTS_3(a), a[3]
#define ESPI_ELEMENTS_5(a) ESPI_ELEMENTS_4(a), a[4]
#define ESPI_ELEMENTS_6(a) ESPI_ELEMENTS_5(a), a[5]
#define ESPI_ELEMENTS_7(a) ESPI_ELEMENTS_6(a), a[6]
#define ESPI_ELEMENTS_8(a) ESPI_ELEMENTS_7(a), a[7]
#define ESPI_ELEMENTS_9(a) ESPI_ELEMENTS_8(a), a[8]
#define ESPI_ELEMENTS_10(a) ESPI_ELEMENTS_9(a), a[9]
#define ESPI_ELEMENTS_11(a) ESPI_ELEMENTS_10(a), a[10]
#define ESPI_ELEMENTS_12(a) ESPI_ELEMENTS_11(a), a[11]
#define ESPI_ELEMENTS_13(a) ESPI_ELEMENTS_12(a), a[12]

/* A pointer to a function of n words, and the call of `next` with the n words of an array. */
#define ESPI_FUNCTION(n) espi_word (*)(ESPI_PARAMS_##n)
#define ESPI_CALL(next, n, args) ((ESPI_FUNCTION(n))(next))(ESPI_ELEMENTS_##n(args))

#endif
