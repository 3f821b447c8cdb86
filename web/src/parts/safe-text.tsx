import { Fragment } from 'react'
import css from './safe-text.module.css'

/** Characters that are invisible or change the order of text. Line breaks and tabs stay. */
const hidden = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** Joiners inside emoji and scripts that need them are not marked. */
const isHarmless = (text: string, at: number): boolean =>
  text[at] === '\u200d' && /\p{Extended_Pictographic}\uFE0F?$/u.test(text.slice(Math.max(0, at - 3), at))

interface Piece {
  readonly key: number
  readonly text: string
  readonly code?: string
}

/** Splits a text at its hidden characters. */
export function pieces(text: string): readonly Piece[] {
  const found: Piece[] = []
  let from = 0
  for (const match of text.matchAll(hidden)) {
    if (isHarmless(text, match.index)) continue
    if (match.index > from) found.push({ key: from, text: text.slice(from, match.index) })
    const code = match[0].codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0') ?? ''
    found.push({ key: match.index, text: match[0], code: `U+${code}` })
    from = match.index + match[0].length
  }
  if (from < text.length) found.push({ key: from, text: text.slice(from) })
  return found
}

/** Returns a text with its hidden characters spelled out, for places that take no elements: options of a field. */
export const plainText = (text: string): string =>
  pieces(text)
    .map(({ text: piece, code }) => (code === undefined ? piece : `[${code}]`))
    .join('')

/**
 * Shows text of models, tools and callers: control, zero-width and direction-changing characters become visible marks. The
 * text cannot change the direction of what surrounds it.
 */
export function SafeText({ text }: { readonly text: string }) {
  return (
    <bdi>
      {pieces(text).map(({ key, text: piece, code }) =>
        code === undefined ? (
          <Fragment key={key}>{piece}</Fragment>
        ) : (
          <span key={key} className={css.mark} title={`hidden character ${code}`}>
            {code}
          </span>
        ),
      )}
    </bdi>
  )
}
