/* What a program sees of the fake MPI library (fake.c). */
#ifndef ESPI_TESTS_FAKE_H
#define ESPI_TESTS_FAKE_H

extern __attribute__((visibility("default"))) void *fake_double;
int MPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);
int MPI_Get_library_version(char *text, int *length);
int MPI_Pack_size(int count, void *type, void *comm, int *size);
int PMPI_Init(int *argc, char ***argv);
int PMPI_Finalize(void);
int PMPI_Get_library_version(char *text, int *length);
int PMPI_Pack_size(int count, void *type, void *comm, int *size);

#endif
