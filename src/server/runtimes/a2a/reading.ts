import { createHash } from 'node:crypto'
import type { NewEvent, SessionEvent } from '../../../contract/events.ts'
import { newId } from '../../platform/ids.ts'
import type { RunContext, RuntimeFailure } from '../runtime.ts'
import { ArtifactText, digestOf, loggedIn, maxTextLength, withDropped } from './artifact-text.ts'
import {
  type AgentMessage,
  type AgentTask,
  type Artifact,
  endsRun,
  isAsking,
  type TaskStatus,
  type Update,
  unusableAnswer,
} from './objects.ts'
import { textOfParts } from './parts.ts'

/** Text of the artifacts of one run, and its events. An agent that exceeds them fails the run. */
const maxArtifactsLength = 8 * 1024 * 1024
const maxEvents = 1_000

/** Ids of agents may be long. */
const shortId = (id: string): string => (id.length <= 200 ? id : createHash('sha256').update(id).digest('hex'))

/**
 * Reads a task into events. Every text is logged once, whatever way it arrives again: `source_event_id` names the message, or the
 * artifact and how much of its text the log has, so that another process continues from the log.
 */
export class Reading {
  readonly #preview: RunContext['preview']
  readonly #logged = new Map<string, NonNullable<ReturnType<typeof loggedIn>>['logged']>()
  readonly #messages = new Set<string>()
  readonly #artifacts = new Map<string, ArtifactText>()
  /** Digests of the texts of this run: agents often repeat the result in their last status. */
  readonly #texts = new Set<string>()
  #artifactsLength = 0
  #events = 0

  constructor(preview: RunContext['preview']) {
    this.#preview = preview
  }

  /** Adds an event of the log so far. */
  addLogged({ type, source_event_id: source }: SessionEvent): void {
    if (type !== 'agent.message' || source === undefined) return
    const found = loggedIn(source)
    if (found) this.#logged.set(found.artifact, found.logged)
    else this.#messages.add(source)
  }

  /** Returns the events of an update. The message of a status that ends the run is left to `finish`. */
  take(update: Update): NewEvent[] {
    const events = this.#eventsOf(update)
    this.#events += events.length
    if (this.#events > maxEvents) throw tooMuch(`${maxEvents} messages`)
    return events
  }

  #eventsOf(update: Update): NewEvent[] {
    switch (update.kind) {
      case 'task':
        return this.#snapshot(update.task)
      case 'message':
        return this.#message(update.message)
      case 'status':
        return endsRun(update.status) ? [] : this.#status(update.status)
      case 'artifact':
        return this.#artifact(update.taskId, update.artifact, update)
    }
  }

  /** Returns the text that is not logged yet, once no more is expected. `status` is the last one of the task. */
  finish(status?: TaskStatus): NewEvent[] {
    const artifacts = [...this.#artifacts.values()].flatMap(artifact => this.#unlogged(artifact))
    const isAnswer = status?.state === 'TASK_STATE_COMPLETED' || (status && isAsking(status))
    return [...artifacts, ...(isAnswer ? this.#status(status) : [])]
  }

  /** Messages of the history may be those of updates that a lost stream carried. */
  #snapshot({ id, artifacts, history, status }: AgentTask): NewEvent[] {
    const results = artifacts.flatMap(artifact =>
      this.#artifact(id, artifact, { isAppended: false, isLast: endsRun(status) }),
    )
    const missed = history.filter(({ isOfAgent, id: messageId }) => isOfAgent && messageId !== status.message?.id)
    const ofStatus = endsRun(status) ? [] : this.#status(status)
    return [...results, ...missed.flatMap(message => this.#message(message)), ...ofStatus]
  }

  #status({ message }: TaskStatus): NewEvent[] {
    return message ? this.#message(message) : []
  }

  #message({ id, parts }: AgentMessage): NewEvent[] {
    const source = shortId(id)
    if (this.#messages.has(source)) return []
    this.#messages.add(source)
    const whole = textOfParts(parts)
    const text = whole.slice(0, maxTextLength)
    if (text.trim() === '' || this.#texts.has(digestOf(text.trim()))) return []
    return [this.#event(withDropped(text, whole.length - text.length), { source, id: newId('evt') })]
  }

  #artifact(
    taskId: string,
    { id, parts }: Artifact,
    { isAppended, isLast }: { readonly isAppended: boolean; readonly isLast: boolean },
  ): NewEvent[] {
    const name = `${shortId(taskId)}:${shortId(id)}`
    const artifact = this.#artifacts.get(name) ?? new ArtifactText(name, this.#logged.get(name))
    this.#artifacts.set(name, artifact)
    const before = artifact.length
    const preview = isAppended ? artifact.append(parts) : artifact.replace(parts)
    this.#artifactsLength += artifact.length - before
    if (this.#artifactsLength > maxArtifactsLength || this.#artifacts.size > maxEvents)
      throw tooMuch('8 Mi characters or 1000 artifacts')
    if (preview) this.#preview(preview.eventId, preview.text)
    return isLast ? this.#unlogged(artifact) : []
  }

  #unlogged(artifact: ArtifactText): NewEvent[] {
    const rest = artifact.takeUnlogged()
    if (rest) this.#texts.add(digestOf(artifact.text.trim()))
    return rest ? [this.#event(rest.text, rest)] : []
  }

  #event(text: string, { source, id }: { readonly source: string; readonly id: string }): NewEvent {
    this.#texts.add(digestOf(text.trim()))
    return { id, type: 'agent.message', content: [{ type: 'text', text }], source_event_id: source }
  }
}

const tooMuch = (limit: string): RuntimeFailure => unusableAnswer(`more than ${limit} in one run`)
