interface Policies {
  createPolicy(name: string, rules: { readonly createHTML: (text: string) => string }): unknown
}

/**
 * Prepares what the policy of the page requires, before the first element is rendered. Returns the nonce of this load,
 * without which styles are not allowed; undefined on the development server.
 */
export function preparePagePolicy(): string | undefined {
  const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce
  // Libraries that create style elements of their own read this name.
  Object.assign(globalThis, { __webpack_nonce__: nonce })
  const { trustedTypes } = globalThis as { readonly trustedTypes?: Policies }
  trustedTypes?.createPolicy('default', { createHTML: withoutMarkup })
  return nonce
}

/** Returns the text of a style element, which Mantine sets as HTML. Throws for markup, which no part of the console sets. */
function withoutMarkup(text: string): string {
  if (text.includes('<')) throw new TypeError('markup as text is not allowed in the console')
  return text
}
