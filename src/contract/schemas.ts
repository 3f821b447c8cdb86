import { Type } from 'typebox'

/** A name that people read: 1 to 200 characters, not blank. */
export const Name = Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' })

/** Any JSON object, kept as sent. */
export const JsonObject = Type.Record(Type.String(), Type.Unknown())

/** Milliseconds since 1970. */
export const EpochMs = Type.Integer({ description: 'Milliseconds since 1970-01-01 UTC' })

/** `limit` and `cursor` of every list. Gaps: section 1, rule 6. */
export const pageQuery = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: '`next_cursor` of the page before' })),
}

export const NextCursor = Type.Union([Type.String(), Type.Null()])

export const Nullable = <S extends Parameters<typeof Type.Union>[0][number]>(schema: S) =>
  Type.Union([schema, Type.Null()])
