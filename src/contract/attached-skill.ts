import { type Static, Type } from 'typebox'
import { named } from './named.ts'

/** A block that an agent carries, as it was written into the prompt. */
export const AttachedSkill = named(
  'AttachedSkill',
  Type.Object({
    id: Type.String({ pattern: '^[A-Za-z0-9_-]{1,200}$' }),
    name: Type.String({ maxLength: 1000 }),
    block: Type.String(),
  }),
)
export type AttachedSkill = Static<typeof AttachedSkill>

/** What marks the block of a skill in a system prompt. Interface: Resources, Agent. */
export const skillMarker = (id: string): string => `<!-- skill:${id} -->`
