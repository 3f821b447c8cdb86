import type { StopRequest } from '../../contract/controls.ts'
import type { Audit } from '../audit/audit.ts'
import type { By, Caller } from '../http/caller.ts'
import type { Keys } from '../keys/keys.ts'
import { notFound } from '../platform/errors.ts'
import type { Halted, Sessions } from '../sessions/sessions.ts'
import type { RunningStore, StopFilter } from './running-store.ts'
import { nameOfTarget, rejectOutOfReach, type Target, targetOf } from './target.ts'

interface Deps {
  readonly store: Pick<RunningStore, 'toStop' | 'lineOf' | 'hasAgent'>
  readonly sessions: Pick<Sessions, 'open' | 'halt'>
  readonly keys: Pick<Keys, 'get'>
  readonly record: (entry: Parameters<Audit['record']>[1]) => Promise<void>
  /** Aborts the in-flight model calls of clients in all processes, and cancels their background responses and batches. */
  readonly stopCalls: (target: Target) => Promise<void>
  /** Cancels running experiments, which would start more sessions. */
  readonly stopExperiments: (filter: Omit<StopFilter, 'session'>, reason: string) => Promise<number>
}

/** Sessions that are stopped at the same time. */
const parallel = 8

interface Stopped extends Halted {
  readonly sessions: number
}

/**
 * Stops running work. The replica that owns a run is notified by a hint, or notices at its next lease renewal within 2
 * s.
 */
export type Stops = ReturnType<typeof createStops>

export function createStops({ store, sessions, keys, record, stopCalls, stopExperiments }: Deps) {
  async function filterOf({ scope, id }: Target, caller: Caller): Promise<StopFilter> {
    const all = { owner: caller.ownerScope, session: undefined, agent: undefined, keys: undefined }
    switch (scope) {
      case 'session':
        return { ...all, session: (await sessions.open(id, caller)).id }
      case 'agent':
        if (!(await store.hasAgent(id, caller.ownerScope))) throw notFound('agent', id)
        return { ...all, agent: id }
      case 'key':
        // Sessions of any owner: the key pays for them.
        return { ...all, owner: undefined, keys: await store.lineOf(id) }
      case 'owner':
        return { ...all, owner: id }
      case 'all':
        return all
    }
  }

  return {
    /**
     * Stops runs, client calls and experiments, and cancels waiting prompts, background responses and batches. Prompts
     * that are queued later still run; a freeze prevents that.
     */
    async stop({ reason, ...named }: StopRequest, { caller, actor }: By): Promise<Stopped> {
      const target = targetOf(named, 'session_id, agent_id, key_id, owner or all')
      await rejectOutOfReach(target, caller, keys)
      const filter = await filterOf(target, caller)
      const ownerId = target.scope === 'owner' ? target.id : (caller.ownerScope ?? null)
      // First, so that an interrupted stop is recorded as well.
      await record({
        actor,
        action: 'work.stop',
        objectId: nameOfTarget(target),
        ownerId,
        after: { reason: reason ?? null },
      })
      await stopCalls(target)
      if (target.scope !== 'session') await stopExperiments(filter, reason ?? 'stopped by a kill switch')
      const total = { sessions: 0, runs: 0, prompts: 0 }
      const halt = async (id: string): Promise<void> => {
        const { runs, prompts } = await sessions.halt(id, { keyIds: filter.keys, reason })
        total.sessions += runs + prompts > 0 ? 1 : 0
        total.runs += runs
        total.prompts += prompts
      }
      for (let after = ''; ; ) {
        const ids = await store.toStop(filter, after)
        for (let at = 0; at < ids.length; at += parallel) await Promise.all(ids.slice(at, at + parallel).map(halt))
        const last = ids.at(-1)
        if (last === undefined) return total
        after = last
      }
    },
  }
}
