import { createHash } from 'node:crypto'
import { masterCaller } from '../../http/caller.ts'
import { createUniqueNames } from '../../platform/unique-names.ts'
import { attachedIds, copyOf, type PromptWithSkills } from '../blocks.ts'
import type { UploadedFile } from './skill-folder.ts'
import type { SkillVersionStore } from './version-store.ts'

/** The files of an attached skill, in the version of the agent's copy. */
export interface AttachedFolder {
  /** Unique among the folders of an agent. */
  readonly name: string
  /** Relative to the folder. */
  readonly paths: readonly string[]
  /** Returns some of the files; none when the skill was deleted meanwhile. */
  read(paths: readonly string[]): Promise<readonly UploadedFile[]>
}

/**
 * Returns a function that returns the folders of the skills that a prompt has, in its order. Skills without other files
 * than SKILL.md have none, nor have those of other owners, except of the master key: a client can write any marker into a prompt.
 */
export const createAttachedFolders =
  (store: Pick<SkillVersionStore, 'folders' | 'filesAt'>) =>
  async (prompt: PromptWithSkills, owners: readonly string[]): Promise<AttachedFolder[]> => {
    const ids = attachedIds(prompt)
    if (ids.length === 0) return []
    const copies = ids.map(id => ({
      id,
      version: prompt.skills.find(skill => skill.id === id)?.version,
      hash: createHash('sha256')
        .update(copyOf(prompt, id) ?? '')
        .digest(),
    }))
    const found = await store.folders(copies, [...owners, masterCaller.principal])
    const unique = createUniqueNames((name, number) => `${name}-${number}`)
    return found.map(({ skill_id, number, name, paths }) => ({
      name: unique(name),
      paths,
      read: wanted => store.filesAt({ skill_id, number }, wanted),
    }))
  }
