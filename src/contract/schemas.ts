import { type TNull, type TOptional, type TProperties, type TUnion, Type } from 'typebox'

/** Display name: 1 to 200 characters, not blank. */
export const Name = Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' })

/** Any JSON object, stored as sent. */
export const JsonObject = Type.Record(Type.String(), Type.Unknown())

/** Milliseconds since 1970. */
export const EpochMs = Type.Integer({ description: 'Milliseconds since 1970-01-01 UTC' })

/** `limit` and `cursor` of every list. Gaps: section 1, rule 6. */
export const pageQuery = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: '`next_cursor` of the previous page' })),
}

export const NextCursor = Type.Union([Type.String(), Type.Null()])

export const Nullable = <S extends Parameters<typeof Type.Union>[0][number]>(schema: S, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description })

type NullableFields<Fields extends TProperties> = {
  [Name in keyof Fields]: TOptional<TUnion<[Fields[Name], TNull]>>
}

/** Returns the fields of an object as optional ones that may be null. */
export const nullableFields = <Fields extends TProperties>(fields: Fields): NullableFields<Fields> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, schema]) => [name, Type.Optional(Nullable(schema))]),
  ) as NullableFields<Fields>

/** Amount of US dollars. The server stores it as an exact decimal. */
export const Usd = Type.Number({ minimum: 0, maximum: 1e12, description: 'US dollars' })

/** Period of a budget. */
export const BudgetDuration = Type.String({
  pattern: '^[1-9][0-9]{0,3}(h|d|w|mo)$',
  description: 'A number and h, d, w or mo: `12h`, `30d`, `1mo`',
})

/** Time in RFC 3339 with its zone. */
export const DateTime = Type.String({
  format: 'date-time',
  pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})$',
})

/** `from` and `to` of lists by time. */
export const rangeQuery = {
  from: Type.Optional(
    Type.String({ maxLength: 40, description: 'At this time or later: `2026-01-31`, or `2026-01-31T12:00:00Z`' }),
  ),
  to: Type.Optional(Type.String({ maxLength: 40, description: 'Before this time' })),
}

/** `timezone` of reports and of lists by time. */
export const Timezone = Type.Optional(
  Type.String({ maxLength: 100, description: 'IANA name for days and for dates without a time; UTC by default' }),
)

/** `limit` of reports. */
export const GroupLimit = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 10_000, default: 1_000, description: 'Groups' }),
)

/** What a report covers, with the defaults of its query filled in. */
export const reportScope = {
  from: Type.String({ format: 'date-time', description: '30 days before `to` by default' }),
  to: Type.String({ format: 'date-time', description: 'Now by default' }),
  timezone: Type.String(),
  group_by: Type.Array(Type.String()),
}

/** `format` of lists that can be saved as a file. */
export const CsvFormat = Type.Optional(
  Type.Union([Type.Literal('json'), Type.Literal('csv')], {
    description: '`csv` returns all rows as a file and ignores `limit` and `cursor`',
  }),
)

/** `alternatives` of a route that answers with a stream when the request asks for one. */
export const eventStream = { 'text/event-stream': Type.String({ description: 'Server-sent events' }) } as const
