program requests
  use mpi_f08
  implicit none
  type(MPI_Datatype) :: v
  type(MPI_Request) :: r(2), p(2)
  type(MPI_Status) :: st(2), s1
  integer :: rank, ierr, i, k, bad, idx
  logical :: flag
  integer, asynchronous :: a(100), b(100)
  include 'requests_body.inc'
end program requests
