import type { Caller } from '../../http/caller.ts'
import { AppError } from '../../platform/errors.ts'
import type { BlockSource } from '../blocks.ts'
import type { Skills } from '../skills.ts'
import type { SkillVersions } from './versions.ts'

/** A skill that an agent should get. */
export interface WantedSkill {
  readonly id: string
  /** Number or id of a version; undefined: the default version. */
  readonly version: string | undefined
  /** Path in the request. */
  readonly field: string
}

/** The skill with the content of the wanted version. */
export interface FoundSkill extends BlockSource {
  /** True for a folder with other files than SKILL.md. */
  readonly hasOtherFiles: boolean
}

interface Library {
  readonly skills: Pick<Skills, 'among'>
  readonly versions: Pick<SkillVersions, 'version' | 'hasOtherFiles'>
}

/**
 * Returns the skills that are in the caller's library, in the order that they are wanted. Throws `invalid_request` for a
 * version that such a skill does not have.
 */
export async function skillsFor(
  caller: Caller,
  wanted: readonly WantedSkill[],
  library: Library,
): Promise<FoundSkill[]> {
  const { skills, versions } = library
  const ids = wanted.map(({ id }) => id)
  const found = new Map((await skills.among(caller, ids)).map(skill => [skill.id, skill]))
  const sources: FoundSkill[] = []
  for (const { id, version, field } of wanted) {
    const skill = found.get(id)
    if (!skill) continue
    const text = version === undefined ? undefined : await pinned({ id, version, field })
    const hasOtherFiles = await versions.hasOtherFiles(id, text?.number, caller)
    sources.push({ id, name: skill.name, content: (text ?? skill).content, version, hasOtherFiles })
  }
  return sources

  async function pinned({ id, version, field }: WantedSkill & { readonly version: string }) {
    try {
      return await versions.version(id, version, caller)
    } catch (cause) {
      if (!(cause instanceof AppError && cause.code === 'not_found')) throw cause
      throw new AppError('invalid_request', `${field}.version: skill ${id} has no version ${version}`, { cause })
    }
  }
}
