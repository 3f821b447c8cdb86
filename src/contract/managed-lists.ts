import { type TSchema, Type } from 'typebox'
import { Nullable } from './schemas.ts'

/** `limit` and `page` of the lists of the Managed Agents dialect. Dialects: section 1.8. */
export const managedPage = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
  page: Type.Optional(Type.String({ maxLength: 200, description: '`next_page` of the page before' })),
}

/** One page of such a list. */
export const managedList = <S extends TSchema>(item: S) =>
  Type.Object({ data: Type.Array(item), next_page: Nullable(Type.String()) })

const key = '^.{1,64}$'
const maxKeys = 16

/** Names and values of the client's own. */
export const Metadata = Type.Record(Type.String({ pattern: key }), Type.String({ maxLength: 512 }), {
  maxProperties: maxKeys,
  additionalProperties: false,
})

/** A value replaces, null removes, what is absent stays. */
export const MetadataPatch = Type.Record(Type.String({ pattern: key }), Nullable(Type.String({ maxLength: 512 })), {
  maxProperties: 2 * maxKeys,
  additionalProperties: false,
})

export const maxMetadataKeys = maxKeys
