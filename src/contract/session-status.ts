import { type Static, Type } from 'typebox'
import { named } from './named.ts'

export const SessionStatus = named(
  'SessionStatus',
  Type.Union([Type.Literal('pending'), Type.Literal('running'), Type.Literal('idle'), Type.Literal('error')]),
)
export type SessionStatus = Static<typeof SessionStatus>
