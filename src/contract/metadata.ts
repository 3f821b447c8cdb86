import { Type } from 'typebox'
import { Nullable } from './schemas.ts'

const key = '^.{1,64}$'

/** Maximum number of names. */
export const maxMetadataKeys = 16

/** Names and values that a client chooses. */
export const Metadata = Type.Record(Type.String({ pattern: key }), Type.String({ maxLength: 512 }), {
  maxProperties: maxMetadataKeys,
  additionalProperties: false,
})

/** A value replaces, null removes, absent names stay unchanged. */
export const MetadataPatch = Type.Record(Type.String({ pattern: key }), Nullable(Type.String({ maxLength: 512 })), {
  maxProperties: 2 * maxMetadataKeys,
  additionalProperties: false,
})
