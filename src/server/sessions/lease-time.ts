/** Seconds that a lease lives without renewal, by the database clock. */
export const leaseSeconds = 15
