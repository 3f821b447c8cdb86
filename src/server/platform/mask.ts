/** Stands for what is hidden. No header can carry it, so a masked value is never taken for the secret itself. */
export const hidden = '…'

const maxShown = 4
/** Of a shorter secret nothing is shown: four characters would be more than a quarter of it. */
const minLength = 4 * maxShown

/** What may be shown of a secret: its last four characters, of a short one none. Security: S14. */
export const masked = (secret: string): string =>
  secret.length < minLength ? hidden : `${hidden}${secret.slice(-maxShown)}`
