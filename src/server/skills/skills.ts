import type { Skill, SkillCreate, SkillUpdate } from '../../contract/skills.ts'
import type { Audit } from '../audit/audit.ts'
import type { Actor, Caller } from '../http/caller.ts'
import { notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { publicFields } from './audited.ts'
import { checkedContent } from './content.ts'
import { readSkillFile } from './skill-file.ts'
import type { OnChange, SkillStore } from './store.ts'

interface Deps {
  readonly store: SkillStore
  readonly audit: Audit
}

/** Caller of a change, whose library it is, and the actor for the audit log. */
export interface By {
  readonly caller: Caller
  readonly actor: Actor
}

interface PageOf {
  readonly after: string | undefined
  readonly limit: number
}

/**
 * The skills library. A skill belongs to the principal that created it and is visible to that principal only. Gaps:
 * section 3.
 */
export type Skills = ReturnType<typeof createSkills>

export function createSkills({ store, audit }: Deps) {
  const recorded =
    (action: 'create' | 'import' | 'update' | 'delete', { actor, caller }: By): OnChange =>
    (sql, before, after) =>
      audit.record(sql, {
        actor,
        action: `skill.${action}`,
        objectId: (after ?? before)?.id ?? '',
        ownerId: caller.principal,
        before: before && publicFields(before),
        after: after && publicFields(after),
      })

  const create = (action: 'create' | 'import', { name, content, description = null }: SkillCreate, by: By) =>
    store.changing(sql => {
      const which = { id: newId('skill'), owner: by.caller.principal }
      return store.insert(sql, which, { name, content: checkedContent(content), description }, recorded(action, by))
    })

  async function get(id: string, { principal }: Caller): Promise<Skill> {
    const skill = await store.find({ id, owner: principal })
    if (!skill) throw notFound('skill', id)
    return skill
  }

  return {
    get,
    /** Returns skills, newest first. */
    list: ({ principal }: Caller, page: PageOf): Promise<Skill[]> => store.list(principal, page),
    /** Returns the given skills that belong to the caller. */
    among: ({ principal }: Caller, ids: readonly string[]): Promise<Skill[]> => store.among(principal, ids),
    create: (write: SkillCreate, by: By): Promise<Skill> => create('create', write, by),
    /** Creates a skill from the text of a SKILL.md file. */
    import: async (text: string, by: By): Promise<Skill> => create('import', readSkillFile(text), by),

    /** Inserts a skill with a given id in the transaction of `sql`. */
    insert: (sql: Parameters<OnChange>[0], id: string, fields: SkillCreate, by: By): Promise<Skill> =>
      store.insert(
        sql,
        { id, owner: by.caller.principal },
        { ...fields, description: fields.description ?? null },
        recorded('create', by),
      ),

    async update(id: string, write: SkillUpdate, by: By): Promise<Skill> {
      if (write.content !== undefined) checkedContent(write.content)
      const which = { id, owner: by.caller.principal }
      const changed = await store.update(which, write, recorded('update', by))
      if (!changed) throw notFound('skill', id)
      return changed
    },

    async remove(id: string, by: By): Promise<void> {
      const which = { id, owner: by.caller.principal }
      if (!(await store.remove(which, recorded('delete', by)))) throw notFound('skill', id)
    },
  }
}
