import type { A2aPushConfig, A2aPushConfigList } from '../../../contract/a2a-push.ts'
import { nextVersion, type RowCipher } from '../../db/encrypted-rows.ts'
import type { Caller } from '../../http/caller.ts'
import { runAsOf } from '../../http/reach.ts'
import { invalid } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import { blockedReasonFor, type Outbound } from '../../platform/outbound.ts'
import { a2aFailure } from '../errors.ts'
import type { OpenTask } from '../task-log.ts'
import type { PushConfigRow, PushStore } from './push-store.ts'

/** Maximum number of configs of one task. */
const maxConfigs = 10

interface Deps {
  readonly store: PushStore
  readonly cipher: RowCipher<'a2a_push_configs'>
  /** The current guard. */
  readonly outbound: () => Pick<Outbound, 'judge' | 'lists'>
}

/** Headers of the notifications of a config that the receiver knows them by. */
export interface PushSecrets {
  readonly token?: string
  readonly authorization?: string
}

/** Rules of push notification configs: allowed addresses, limits, and secrets that are never shown again. */
export type PushConfigs = ReturnType<typeof createPushConfigs>

export function createPushConfigs({ store, cipher, outbound }: Deps) {
  return {
    /** Throws `invalid_request` for a config that cannot be stored. `place` is its path in the request, with a dot. */
    check({ id = '', url, token, authentication }: A2aPushConfig, place = ''): void {
      if (!/^[\w.~:-]*$/.test(id))
        throw invalid(`${place}id must have only letters, digits and the characters . _ ~ : -`)
      const problem = blockedReasonFor(url, outbound())
      if (problem !== undefined) throw invalid(`${place}url is not allowed: ${problem}`)
      checkHeader(token, `${place}token`)
      if (!authentication) return
      if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(authentication.scheme))
        throw invalid(`${place}authentication.scheme must be a scheme of HTTP, such as Bearer`)
      checkHeader(authentication.credentials, `${place}authentication.credentials`)
    },

    /**
     * Stores a checked config; one with the same id replaces it and starts again with the whole task. The first
     * notification shows the task as it was read.
     */
    async put(config: A2aPushConfig, { row, after }: OpenTask, caller: Caller): Promise<A2aPushConfig> {
      const { url, authentication } = config
      const bound = { task_id: row.id, id: config.id || newId('push'), url }
      const version = nextVersion((await store.find(row.id, bound.id))?.version)
      const stored = {
        ...bound,
        session_id: row.session_id,
        host: new URL(url).host,
        scheme: authentication?.scheme ?? null,
        version,
        ...cipher.encrypt(JSON.stringify(secretsOf(config)), { ...bound, version }),
        run_as_key_id: runAsOf(caller),
        seq: after,
      }
      if (!(await store.put(stored, maxConfigs)))
        throw invalid(`task ${row.id} has ${maxConfigs} push notification configs, the maximum; delete one`)
      return toConfig(stored)
    },

    async get(taskId: string, id: string): Promise<A2aPushConfig> {
      const row = await store.find(taskId, id)
      if (!row) throw a2aFailure('TASK_NOT_FOUND', `push notification config ${id} not found`, { taskId })
      return toConfig(row)
    },

    list: async (taskId: string): Promise<A2aPushConfigList> => ({ configs: (await store.list(taskId)).map(toConfig) }),

    remove: (taskId: string, id: string): Promise<void> => store.remove(taskId, id),
  }
}

function secretsOf({ token, authentication }: A2aPushConfig): PushSecrets {
  const { scheme, credentials = '' } = authentication ?? {}
  return {
    ...(token && { token }),
    ...(scheme !== undefined && { authorization: `${scheme} ${credentials}`.trim() }),
  }
}

/** Throws `invalid_request` for a text that cannot be the value of a header. */
function checkHeader(value: string | undefined, field: string): void {
  if (value && !/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value))
    throw invalid(`${field} must have only printable ASCII characters, without spaces around them`)
}

/** Returns a config as callers see it: without its token and credentials. */
const toConfig = ({ task_id: taskId, id, url, scheme }: PushConfigRow): A2aPushConfig => ({
  taskId,
  id,
  url,
  ...(scheme !== null && { authentication: { scheme } }),
})
