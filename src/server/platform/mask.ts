/**
 * Placeholder of hidden text. It is not a valid header character, so a masked value can never be used as the secret.
 */
export const hidden = '…'

const maxShown = 4
/** Shorter secrets are hidden completely: four characters would be more than a quarter of them. */
const minLength = 4 * maxShown

/** Returns a masked secret with its last four characters; completely hidden if short. Security: S14. */
export const masked = (secret: string): string =>
  secret.length < minLength ? hidden : `${hidden}${secret.slice(-maxShown)}`
