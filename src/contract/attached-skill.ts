import { type Static, Type } from 'typebox'
import { named } from './named.ts'

/** Block of a skill as written into an agent's prompt. */
export const AttachedSkill = named(
  'AttachedSkill',
  Type.Object({
    id: Type.String({ pattern: '^[A-Za-z0-9_-]{1,200}$' }),
    name: Type.String({ maxLength: 1000 }),
    block: Type.String(),
    version: Type.Optional(
      Type.String({
        maxLength: 100,
        description: 'Number or id of the version that was asked for; absent: the default version',
      }),
    ),
  }),
)
export type AttachedSkill = Static<typeof AttachedSkill>

/** Marker of a skill's block in a system prompt. Interface: Resources, Agent. */
export const skillMarker = (id: string): string => `<!-- skill:${id} -->`
