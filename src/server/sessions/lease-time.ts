/** Seconds until a lease expires without renewal, measured by the database clock. */
export const leaseSeconds = 15
