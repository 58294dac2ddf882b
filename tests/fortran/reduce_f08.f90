      program reduce_f08
      use mpi_f08
      implicit none
      type(MPI_Datatype) :: dense, spread
      type(MPI_Request) :: request
      integer :: ierr, rank, nranks, wrong, total, i
      double precision, asynchronous :: a(8), b(8)
      double precision :: want
      include 'reduce_body.inc'
      end program
