import { createHash, randomBytes } from 'node:crypto'
import { basename } from 'node:path'
import type { Cluster } from './cluster.ts'
import type { Owner } from './objects.ts'
import { createSlot, type Slot } from './slot.ts'
import type { KubernetesTimes } from './times.ts'

interface Deps {
  readonly cluster: Cluster
  readonly owner: Owner
  readonly times: KubernetesTimes
}

interface Wanted {
  readonly signal: AbortSignal
  /** Folder of the HOME of a program; a slot with a home is never reused. */
  readonly home?: string
}

/** A slot that is in use. */
export interface AcquiredSlot extends Slot {
  /** True when it has run something before, so that its pod may have ended unnoticed. */
  readonly isReused: boolean
}

interface IdleSlot {
  readonly slot: Slot
  readonly timer: NodeJS.Timeout
}

/**
 * The sandboxes of each workspace. A command has one for itself, so that killing all processes in it ends this command and
 * no other. The first one of a workspace is reused; commands in parallel have more.
 */
export type Slots = ReturnType<typeof createSlots>

export function createSlots({ cluster, owner, times }: Deps) {
  const idle = new Map<string, IdleSlot[]>()
  const removeIdle = (folder: string, slot: Slot) => {
    const left = (idle.get(folder) ?? []).filter(each => each.slot !== slot)
    if (left.length > 0) idle.set(folder, left)
    else idle.delete(folder)
  }

  return {
    /** Returns an idle slot of a workspace, or creates one. */
    async acquire(folder: string, { signal, home }: Wanted): Promise<AcquiredSlot> {
      const found = home === undefined ? idle.get(folder)?.at(-1) : undefined
      if (found) {
        clearTimeout(found.timer)
        removeIdle(folder, found.slot)
        return { ...found.slot, isReused: true }
      }
      const object = {
        name: `switchyard-${randomBytes(8).toString('hex')}`,
        owner,
        workspace: digestOf(folder),
        folder: basename(folder),
        ...(home !== undefined && { home: basename(home) }),
      }
      return { ...(await createSlot(cluster, { object, times, signal })), isReused: false }
    },

    /** Keeps a cleaned slot for the next command of its workspace. */
    keep(folder: string, slot: Slot): void {
      const timer = setTimeout(() => {
        removeIdle(folder, slot)
        void slot.release()
      }, times.idleMs)
      timer.unref()
      idle.set(folder, [...(idle.get(folder) ?? []), { slot, timer }])
    },

    /** Deletes the idle slots of a workspace. */
    async release(folder: string): Promise<void> {
      const found = idle.get(folder) ?? []
      idle.delete(folder)
      for (const { timer } of found) clearTimeout(timer)
      await Promise.all(found.map(({ slot }) => slot.release()))
    },
  }
}

/** Returns a label value for a text. */
export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)
