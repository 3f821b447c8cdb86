/** Returns `Basic` with user and password, which are joined by a colon. Source: RFC 7617. */
export const basicAuthorization = (userAndPassword: string): string =>
  `Basic ${Buffer.from(userAndPassword).toString('base64')}`

/**
 * Returns the value of the header `Authorization` for a stored credential: itself, a bearer token, or user and password joined by a
 * colon.
 */
export function authorizationValue(type: 'authorization' | 'bearer_token' | 'basic', value: string): string {
  switch (type) {
    case 'authorization':
      return value
    case 'bearer_token':
      return `Bearer ${value}`
    case 'basic':
      return basicAuthorization(value)
  }
}
