const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))
const toHex = (bytes: Uint8Array): string => [...bytes].map(byte => byte.toString(16).padStart(2, '0')).join('')

/** Returns a random secret of 256 bits, in the form that Standard Webhooks requires if `isStandard`. */
export function newSecret({ isStandard }: { readonly isStandard: boolean }): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  return isStandard ? `whsec_${toBase64(bytes)}` : toHex(bytes)
}
