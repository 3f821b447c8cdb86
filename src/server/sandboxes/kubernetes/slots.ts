import { createHash, randomBytes } from 'node:crypto'
import { basename } from 'node:path'
import type { Cluster } from './cluster.ts'
import type { Owner } from './objects.ts'
import { createSlot, type Slot } from './slot.ts'
import type { KubernetesTimes } from './times.ts'

interface Deps {
  readonly cluster: Cluster
  /** Image of agents that name none. */
  readonly image: string
  readonly owner: Owner
  readonly times: KubernetesTimes
}

interface Wanted {
  readonly signal: AbortSignal
  /** Absent: the default image. */
  readonly image?: string | undefined
  /** Folder of the HOME of a program; a slot with a home is never reused. */
  readonly home?: string
}

/** A slot that is in use. */
export interface AcquiredSlot extends Slot {
  /** Workspace folder. */
  readonly folder: string
  readonly image: string
  /** True when it has run something before, so that its pod may have ended unnoticed. */
  readonly isReused: boolean
}

interface IdleSlot {
  readonly slot: AcquiredSlot
  readonly timer: NodeJS.Timeout
}

/**
 * The sandboxes of each workspace. A command has one for itself, so that killing all processes in it ends this command and
 * no other. The first one of a workspace and image is reused; commands in parallel have more.
 */
export type Slots = ReturnType<typeof createSlots>

export function createSlots({ cluster, image: defaultImage, owner, times }: Deps) {
  const idle = new Map<string, IdleSlot[]>()
  const releasing = new Set<Promise<void>>()

  const removeIdle = (slot: AcquiredSlot) => {
    const left = (idle.get(slot.folder) ?? []).filter(each => each.slot !== slot)
    if (left.length > 0) idle.set(slot.folder, left)
    else idle.delete(slot.folder)
  }
  /** Returns a slot whose release `close` waits for. */
  const tracked = (slot: Slot): Slot => ({
    ...slot,
    async release() {
      const release = slot.release()
      releasing.add(release)
      await release
      releasing.delete(release)
    },
  })
  const releaseIdle = async (folder: string) => {
    const found = idle.get(folder) ?? []
    idle.delete(folder)
    for (const { timer } of found) clearTimeout(timer)
    await Promise.all(found.map(({ slot }) => slot.release()))
  }

  return {
    /** Returns an idle slot of a workspace with the image, or creates one. */
    async acquire(folder: string, { signal, image = defaultImage, home }: Wanted): Promise<AcquiredSlot> {
      const found = home === undefined ? idle.get(folder)?.findLast(({ slot }) => slot.image === image) : undefined
      if (found) {
        clearTimeout(found.timer)
        removeIdle(found.slot)
        return { ...found.slot, isReused: true }
      }
      const object = {
        name: `switchyard-${randomBytes(8).toString('hex')}`,
        owner,
        workspace: digestOf(folder),
        folder: basename(folder),
        image,
        ...(home !== undefined && { home: basename(home) }),
      }
      const slot = tracked(await createSlot(cluster, { object, times, signal }))
      return { ...slot, folder, image, isReused: false }
    },

    /** Keeps a cleaned slot for the next command of its workspace and image. */
    keep(slot: AcquiredSlot): void {
      const timer = setTimeout(() => {
        removeIdle(slot)
        void slot.release()
      }, times.idleMs)
      timer.unref()
      idle.set(slot.folder, [...(idle.get(slot.folder) ?? []), { slot, timer }])
    },

    /** Deletes the idle slots of a workspace. */
    release: releaseIdle,

    /** Deletes all idle slots, and waits for the deletions that are in progress. */
    async close(): Promise<void> {
      await Promise.all([...idle.keys()].map(releaseIdle))
      await Promise.all(releasing)
    },
  }
}

/** Returns a label value for a text. */
export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)
