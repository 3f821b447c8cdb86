/** What is tried of a client. */
export const features = ['stream', 'tools', 'reasoning', 'image', 'compaction'] as const
export type Feature = (typeof features)[number]
/** What a client can do in a single turn. */
export type FeatureOfTurn = Exclude<Feature, 'compaction'>

/** Where a client sends its calls, and the model that it names. */
export interface Target {
  readonly url: string
  readonly key: string
  readonly model: string
}

/** A tool that a client offers. */
export interface OfferedTool {
  readonly name: string
  readonly description: string
  /** Name of its one argument, a string. */
  readonly argument: string
  execute(input: Readonly<Record<string, string>>): string
}

/** What a client made of the answer. */
export interface ClientAnswer {
  readonly text: string
  readonly reasoning?: string
  /** Parts in which the text arrived. */
  readonly pieces?: number
}

/** One way to use a client: a call for each feature. A feature that the client does not have is absent. */
export interface Driver {
  stream?(target: Target, prompt: string): Promise<ClientAnswer>
  /** A turn with the tool, through to the answer after its result. */
  tools?(target: Target, prompt: string, tool: OfferedTool): Promise<ClientAnswer>
  reasoning?(target: Target, prompt: string): Promise<ClientAnswer>
  /** `png` is base64. */
  image?(target: Target, prompt: string, png: string): Promise<ClientAnswer>
}
