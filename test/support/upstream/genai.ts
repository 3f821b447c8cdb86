import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** A part of a turn in Gemini's format. */
export interface Part {
  readonly text?: string
  readonly thought?: boolean
  readonly thoughtSignature?: string
  readonly inlineData?: { readonly mimeType: string; readonly data: string }
  readonly functionCall?: { readonly id?: string; readonly name: string; readonly args?: object }
  readonly functionResponse?: { readonly id?: string; readonly name: string; readonly response: object }
}

export interface Content {
  readonly role?: string
  readonly parts: readonly Part[]
}

export interface Answer {
  readonly text: string | undefined
  readonly functionCalls: NonNullable<Part['functionCall']>[] | undefined
  readonly candidates?: readonly { readonly content?: Content; readonly finishReason?: string }[]
  readonly promptFeedback?: { readonly blockReason: string }
  readonly usageMetadata?: Readonly<Record<string, number>>
  readonly modelVersion?: string
  readonly responseId?: string
}

interface Request {
  readonly model: string
  readonly contents: string | readonly Content[]
  readonly config?: object
}

interface Model {
  readonly name: string
  readonly displayName: string
}

interface Chat {
  sendMessageStream(request: { readonly message: string | readonly Part[] }): Promise<AsyncIterable<Answer>>
  getHistory(): readonly Content[]
}

/** As much of `@google/genai` as the tests use. */
export interface Genai {
  readonly models: {
    generateContent(request: Request): Promise<Answer>
    generateContentStream(request: Request): Promise<AsyncIterable<Answer>>
    countTokens(request: Request): Promise<{ readonly totalTokens: number }>
    list(request?: object): Promise<AsyncIterable<Model>>
    get(request: { readonly model: string }): Promise<Model>
  }
  readonly chats: { create(request: Omit<Request, 'contents'>): Chat }
}

interface Options {
  readonly apiKey: string
  readonly httpOptions: { readonly baseUrl: string; readonly apiVersion?: string }
}

interface Module {
  readonly GoogleGenAI: new (options: Options) => Genai
  readonly ApiError: new (...given: never[]) => Error & { readonly status: number }
}

const path = join(import.meta.dirname, '../../clients/node_modules/@google/genai/dist/node/index.mjs')

/** Google's own client, which is installed apart because it is big. Throws when it is not. */
export async function genai(): Promise<Module> {
  if (!existsSync(path)) throw new Error(`@google/genai is missing at ${path}: run "npm ci" in test/clients`)
  return (await import(pathToFileURL(path).href)) as Module
}
