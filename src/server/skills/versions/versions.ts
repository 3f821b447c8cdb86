import { createHash } from 'node:crypto'
import { maxSkillNameLength } from '../../../contract/skills.ts'
import type { Audit } from '../../audit/audit.ts'
import { once, type RunSql } from '../../db/once.ts'
import type { Caller } from '../../http/caller.ts'
import type { Idempotency } from '../../http/idempotency.ts'
import { AppError, invalid, notFound } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import { zipOf } from '../../platform/zip.ts'
import { publicFields } from '../audited.ts'
import type { By } from '../skills.ts'
import { type SkillFolder, skillFile } from './skill-folder.ts'
import type {
  NewVersion,
  SkillHead,
  SkillVersion,
  SkillVersionStore,
  VersionRef,
  VersionText,
} from './version-store.ts'
import { writtenSkillFile } from './written-skill-file.ts'

interface Deps {
  readonly store: SkillVersionStore
  readonly audit: Audit
}

/** Who uploads, and the key under which the request is executed once; the hash of its body is that of the upload. */
interface UploadBy extends By {
  readonly idempotency?: Idempotency | undefined
}

interface NewVersionOf {
  readonly folder: SkillFolder
  readonly isDefault: boolean
  /** Rejects a folder whose name differs from that of the default version. */
  readonly keepsName: boolean
}

/** Maximum bytes of the files of all skills of one owner. */
const maxOwnerBytes = 300_000_000

/**
 * Versions of the skills of the library, and their files. The library itself has the default version. A change of its
 * text makes a version too.
 */
export type SkillVersions = ReturnType<typeof createSkillVersions>

export function createSkillVersions({ store, audit }: Deps) {
  const record = (sql: RunSql, verb: string, { by, id, before, after }: Change): Promise<void> =>
    audit.record(sql, {
      actor: by.actor,
      action: `skill.${verb}`,
      objectId: id,
      ownerId: by.caller.principal,
      before,
      after,
    })

  async function checkSpace(sql: RunSql, owner: string, files: SkillFolder['files']): Promise<void> {
    const others = await store.lockOwner(sql, owner)
    const bytes = files.reduce((sum, { content }) => sum + content.length, 0)
    if (others + bytes > maxOwnerBytes)
      throw new AppError(
        'payload_too_large',
        `files of skills exceed ${maxOwnerBytes} bytes: ${others} are stored; delete versions first`,
      )
  }

  async function get(id: string, { principal }: Caller): Promise<SkillHead> {
    const head = await store.head(principal, id)
    if (!head) throw notFound('skill', id)
    return head
  }

  async function version(skillId: string, ref: string, caller: Caller): Promise<VersionText> {
    const parsed = versionRef(ref)
    const found = parsed && (await store.version(caller.principal, skillId, parsed))
    if (found) return found
    await get(skillId, caller)
    throw notFound('version', ref.slice(0, 200))
  }

  async function lock(sql: RunSql, id: string, { principal }: Caller): Promise<SkillHead> {
    const head = await store.lock(sql, principal, id)
    if (!head) throw notFound('skill', id)
    return head
  }

  return {
    get,
    version,

    list: ({ principal }: Caller, page: Parameters<SkillVersionStore['heads']>[1]): Promise<SkillHead[]> =>
      store.heads(principal, page),

    async versions(id: string, caller: Caller, page: Parameters<SkillVersionStore['versions']>[2]) {
      await get(id, caller)
      return store.versions(caller.principal, id, page)
    },

    /** Reports whether a version has other files than SKILL.md, which agents do not get. Undefined: the default one. */
    hasOtherFiles: async (id: string, number: number | undefined, caller: Caller): Promise<boolean> =>
      store.hasOtherFiles(id, number ?? (await get(id, caller)).default_version),

    /** Adds a skill with its first version. */
    async create(folder: SkillFolder, displayName: string | undefined, by: UploadBy): Promise<SkillHead> {
      const { principal: owner } = by.caller
      const name = checkedName(displayName ?? folder.name)
      const id = await store.changing(sql =>
        once(sql, onceFor(by, { folder, name }), async () => {
          const made = newId('skill')
          await checkSpace(sql, owner, folder.files)
          await store.insertSkill(sql, { id: made, owner, displayName: name, version: folder })
          await record(sql, 'create', { by, id: made, after: { ...versionFields(folder), name } })
          return made
        }),
      )
      return get(id, by.caller)
    },

    async addVersion(id: string, { folder, isDefault, keepsName }: NewVersionOf, by: UploadBy): Promise<SkillVersion> {
      const number = await store.changing(sql =>
        once(sql, onceFor(by, { folder, isDefault }), async () => {
          const head = await lock(sql, id, by.caller)
          await checkSpace(sql, by.caller.principal, folder.files)
          const added = await store.insertVersion(sql, id, folder)
          if (keepsName && added.name !== head.name)
            throw invalid(`files: name ${added.name} in ${skillFile} must be ${head.name}, the name of the skill`)
          if (isDefault) await store.setDefault(sql, id, added.number)
          const after = { version: added.number, is_default: isDefault, ...versionFields(folder) }
          await record(sql, 'create_version', { by, id, after })
          return added.number
        }),
      )
      return version(id, String(number), by.caller)
    },

    /** Makes a version the one that the library has. */
    async setDefault(id: string, ref: string, by: By): Promise<SkillHead> {
      const { number } = await version(id, ref, by.caller)
      await store.changing(async sql => {
        const { default_version } = await lock(sql, id, by.caller)
        if (!(await store.setDefault(sql, id, number))) throw notFound('version', ref)
        await record(sql, 'update', { by, id, before: { default_version }, after: { default_version: number } })
      })
      return get(id, by.caller)
    },

    /** Deletes a version. The newest other one becomes the default version when it was that. */
    async removeVersion(id: string, ref: string, by: By): Promise<SkillVersion> {
      const removed = await version(id, ref, by.caller)
      await store.changing(async sql => {
        const head = await lock(sql, id, by.caller)
        const next = await store.newestBeside(sql, id, removed.number)
        if (next === undefined)
          throw invalid(`version ${removed.number} is the only one of skill ${id}; delete the skill instead`)
        if (head.default_version === removed.number) await store.setDefault(sql, id, next)
        await store.removeVersion(sql, id, removed.number)
        await record(sql, 'delete_version', { by, id, before: { version: removed.number, name: removed.name } })
      })
      return removed
    },

    /** Returns a version as a zip archive of its folder. */
    async archive(id: string, ref: string, caller: Caller): Promise<SkillArchive> {
      const of = await version(id, ref, caller)
      const stored = await store.files(of)
      const files = stored.some(({ path }) => path === skillFile)
        ? stored
        : [{ path: skillFile, content: Buffer.from(writtenSkillFile(of)) }, ...stored]
      const entries = files.map(({ path, content }) => ({ path: `${of.name}/${path}`, content }))
      return { filename: `${of.name}.zip`, content: await zipOf(entries, of.created_at) }
    },
  }
}

/** A version for download. */
export interface SkillArchive {
  readonly filename: string
  readonly content: Buffer
}

interface Change {
  readonly by: By
  readonly id: string
  readonly before?: object
  readonly after?: object
}

/** Returns the identity of an upload: its fields and the paths and contents of its files. */
function onceFor(
  { idempotency }: UploadBy,
  { folder, ...fields }: { readonly folder: SkillFolder; readonly [field: string]: unknown },
) {
  if (!idempotency) return undefined
  const hash = createHash('sha256').update(JSON.stringify(fields))
  for (const { path, content } of folder.files) hash.update(JSON.stringify([path, content.length])).update(content)
  return { ...idempotency, bodyHash: hash.digest() }
}

/** Returns what a text selects; undefined for one that no version has. */
function versionRef(text: string): VersionRef | undefined {
  if (/^[1-9][0-9]{0,8}$/.test(text)) return { number: Number(text) }
  return /^skillver_[0-9a-f]{32}$/.test(text) ? { id: text } : undefined
}

function checkedName(name: string): string {
  if (name.trim() === '' || name.length > maxSkillNameLength || /[\0\r\n]/.test(name) || !name.isWellFormed())
    throw invalid(`display_name must be one line of 1 to ${maxSkillNameLength} characters`)
  return name
}

/** Returns the fields of a version for the audit log. */
const versionFields = ({ files, ...version }: NewVersion) => ({ ...publicFields(version), files: files.length })
