import type { Command } from 'commander'
import { withExamples } from '../world.ts'

/** Adds a group of commands to its parent. */
export const addGroup = (parent: Command, name: string, text: string, examples: readonly string[]): Command =>
  withExamples(parent.command(name).description(text), examples)
