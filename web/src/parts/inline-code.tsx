import { Code } from '@mantine/core'
import { Fragment } from 'react'

/** A sentence of the service in which names in backquotes are code. */
export function InlineCode({ text }: { readonly text: string }) {
  return text
    .split('`')
    .map((piece, at) => ({ piece, at }))
    .map(({ piece, at }) => (at % 2 === 1 ? <Code key={at}>{piece}</Code> : <Fragment key={at}>{piece}</Fragment>))
}
