/* After api.def: the forms of `typed` and ESPI_API may be given another meaning. To be included more than once. */
#undef ESPI_API
#undef ESPI_ONE
#undef ESPI_V
#undef ESPI_W
#undef ESPI_ONE_AT_ROOT
#undef ESPI_V_AT_ROOT
#undef ESPI_SEND
#undef ESPI_RECV
#undef ESPI_BOTH_WAYS
#undef ESPI_TARGET
