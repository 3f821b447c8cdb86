import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { SpokenProtocol } from '../support/upstream/spoken-protocols.ts'
import type { Driver } from './driver.ts'
import {
  claudeAgentSdk,
  claudeCode,
  codexBaseUrl,
  codexProvider,
  continueCli,
  geminiCli,
  opencode,
  type Program,
  qwenCode,
} from './programs.ts'

interface ClientFacts {
  readonly name: string
  /** What is installed; the table has its version. */
  readonly package: string
  /** The format that it speaks: for models of this one its calls pass unchanged. */
  readonly speaks: SpokenProtocol
}

export interface Library extends ClientFacts {
  driver(): Promise<Driver>
}

interface CommandLine extends ClientFacts {
  readonly program: Program
}

export type Client = Library | CommandLine

/** A driver of `sdk/`, which is plain JavaScript: the packages that it uses are installed for this folder alone. */
const sdk =
  (file: string, name: string): Library['driver'] =>
  async () => {
    const module = (await import(pathToFileURL(join(import.meta.dirname, 'sdk', file)).href)) as Record<string, Driver>
    return module[name] ?? {}
  }

/** The clients of the table, in its order. */
export const clients: readonly Client[] = [
  { name: 'openai, chat', package: 'openai', speaks: 'openai-chat', driver: sdk('openai.mjs', 'openaiChat') },
  {
    name: 'openai, responses',
    package: 'openai',
    speaks: 'openai-responses',
    driver: sdk('openai.mjs', 'openaiResponses'),
  },
  {
    name: 'Vercel AI SDK, openai',
    package: '@ai-sdk/openai',
    speaks: 'openai-responses',
    driver: sdk('ai-sdk.mjs', 'aiOpenai'),
  },
  {
    name: 'Vercel AI SDK, openai-compatible',
    package: '@ai-sdk/openai-compatible',
    speaks: 'openai-chat',
    driver: sdk('ai-sdk.mjs', 'aiOpenaiCompatible'),
  },
  {
    name: 'Vercel AI SDK, anthropic',
    package: '@ai-sdk/anthropic',
    speaks: 'anthropic-messages',
    driver: sdk('ai-sdk.mjs', 'aiAnthropic'),
  },
  { name: 'Vercel AI SDK, google', package: '@ai-sdk/google', speaks: 'gemini', driver: sdk('ai-sdk.mjs', 'aiGoogle') },
  { name: 'Google Gen AI SDK', package: '@google/genai', speaks: 'gemini', driver: sdk('genai.mjs', 'genai') },
  {
    name: 'LangChain, openai chat',
    package: '@langchain/openai',
    speaks: 'openai-chat',
    driver: sdk('langchain.mjs', 'langchainOpenaiChat'),
  },
  {
    name: 'LangChain, openai responses',
    package: '@langchain/openai',
    speaks: 'openai-responses',
    driver: sdk('langchain.mjs', 'langchainOpenaiResponses'),
  },
  {
    name: 'LangChain, anthropic',
    package: '@langchain/anthropic',
    speaks: 'anthropic-messages',
    driver: sdk('langchain.mjs', 'langchainAnthropic'),
  },
  {
    name: 'OpenAI Agents SDK',
    package: '@openai/agents',
    speaks: 'openai-responses',
    driver: sdk('openai-agents.mjs', 'openaiAgents'),
  },
  {
    name: 'Claude Agent SDK',
    package: '@anthropic-ai/claude-agent-sdk',
    speaks: 'anthropic-messages',
    program: claudeAgentSdk,
  },
  { name: 'Claude Code', package: '@anthropic-ai/claude-code', speaks: 'anthropic-messages', program: claudeCode },
  { name: 'Codex, provider', package: '@openai/codex', speaks: 'openai-responses', program: codexProvider },
  { name: 'Codex, openai_base_url', package: '@openai/codex', speaks: 'openai-responses', program: codexBaseUrl },
  { name: 'opencode', package: 'opencode-linux-x64-baseline', speaks: 'openai-chat', program: opencode },
  { name: 'Gemini CLI', package: '@google/gemini-cli', speaks: 'gemini', program: geminiCli },
  { name: 'Qwen Code', package: '@qwen-code/qwen-code', speaks: 'openai-chat', program: qwenCode },
  { name: 'Continue CLI', package: '@continuedev/cli', speaks: 'openai-chat', program: continueCli },
]
