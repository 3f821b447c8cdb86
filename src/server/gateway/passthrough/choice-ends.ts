import { isRecord, type Json, listOf } from '../../platform/json.ts'

/** Choices of a streamed answer in OpenAI's formats, and which of them have ended. */
export class ChoiceEnds {
  /** By index. */
  readonly #ended = new Map<unknown, boolean>()
  #reason: string | undefined

  /** Finish reason of the choice that ended last. */
  get reason(): string | undefined {
    return this.#reason
  }

  /** True when there are choices and each has ended: some servers send no [DONE]. */
  get areComplete(): boolean {
    return this.#ended.size > 0 && [...this.#ended.values()].every(isEnded => isEnded)
  }

  /** Reads the choices of a chunk. */
  take({ choices }: Json): void {
    for (const choice of listOf(choices)) {
      if (!isRecord(choice)) continue
      const { index, finish_reason: reason } = choice
      const isEnded = typeof reason === 'string' && reason !== ''
      if (isEnded) this.#reason = reason
      this.#ended.set(index, isEnded || this.#ended.get(index) === true)
    }
  }
}
