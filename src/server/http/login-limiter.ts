/** Counts failed logins per address in windows of one minute. Gaps: section 1, rule 9. */
export interface LoginLimiter {
  /** Counts one failure; false once the address has exceeded its limit of the minute. */
  admits(address: string): boolean
}

const perMinute = 600
const maxAddresses = 10_000

const isLoopback = (address: string): boolean => address === '::1' || /^(::ffff:)?127\./.test(address)

/** Returns a limiter of 600 failures per minute and address; loopback is exempt. `now` returns milliseconds. */
export function createLoginLimiter(now: () => number): LoginLimiter {
  let windowStart = now()
  let failures = new Map<string, number>()
  return {
    admits(address) {
      if (isLoopback(address)) return true
      if (now() - windowStart >= 60_000 || failures.size >= maxAddresses) {
        windowStart = now()
        failures = new Map()
      }
      const count = (failures.get(address) ?? 0) + 1
      failures.set(address, count)
      return count <= perMinute
    },
  }
}
