import { Type } from 'typebox'

/** Difference of two texts: the changed lines with their context. */
export const DiffLines = Type.Array(
  Type.Object({
    op: Type.Union([Type.Literal('same'), Type.Literal('removed'), Type.Literal('added')]),
    text: Type.String(),
  }),
)
