import { Type } from 'typebox'

/** A2A requires servers to ignore unknown fields, which clients of later versions send. */
export const open = { additionalProperties: true } as const

/** Part of every request, which may be an empty text. */
export const tenant = Type.Optional(Type.String({ maxLength: 0, description: 'Not used: the path names the agent' }))
