import { Type } from 'typebox'
import { Nullable } from './schemas.ts'

const key = '^.{1,64}$'

/** How many names an object may have. */
export const maxMetadataKeys = 16

/** Names and values of the client's own. */
export const Metadata = Type.Record(Type.String({ pattern: key }), Type.String({ maxLength: 512 }), {
  maxProperties: maxMetadataKeys,
  additionalProperties: false,
})

/** A value replaces, null removes, what is absent stays. */
export const MetadataPatch = Type.Record(Type.String({ pattern: key }), Nullable(Type.String({ maxLength: 512 })), {
  maxProperties: 2 * maxMetadataKeys,
  additionalProperties: false,
})
