import type { Json } from '../../../platform/json.ts'
import type { ReasoningSeal } from '../../translated/codec.ts'
import type { Degradation } from '../../translated/degradations.ts'

/** Lists one thing of a request that could not go out as it was. */
export type Note = (path: Degradation['path'], action: Degradation['action']) => void

/** What the conversion of a conversation needs besides its messages. */
export interface InputContext {
  readonly note: Note
  /** Undefined for a model that takes no reasoning items. */
  readonly seal: ReasoningSeal | undefined
}

/** An item of the upstream's input and the place in the request that it comes from. */
export interface PlacedItem {
  readonly path: string
  readonly item: Json & { readonly type: string }
}
