program harmless_f08
      use mpi_f08
      implicit none
      include 'harmless_variables.inc'
      type(MPI_Comm) :: comm
      include 'harmless_body.inc'
end program harmless_f08
