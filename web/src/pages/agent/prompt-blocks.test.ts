import assert from 'node:assert/strict'
import { test } from 'node:test'
import { estimatedTokens, splitPrompt } from './prompt-blocks.ts'

const marker = '<!-- skill:skill_01 -->'

test('a prompt is split before the block of its first skill, and the parts are the prompt', () => {
  for (const [system, own] of [
    ['You help.', 'You help.'],
    ['', ''],
    [`You help.\n\n${marker}\nTerse.\n\n<!-- skill:b -->\nMore.`, 'You help.'],
    [`\n\n${marker}\nTerse.`, ''],
    [`Text with ${marker} inside.`, `Text with ${marker} inside.`],
  ] as const) {
    const parts = splitPrompt(system)
    assert.equal(parts.own, own)
    assert.equal(parts.own + parts.skills, system)
  }
})

test('tokens are estimated from bytes', () => {
  assert.equal(estimatedTokens(''), 0)
  assert.equal(estimatedTokens('abcde'), 2)
  assert.equal(estimatedTokens('ä'.repeat(4)), 3)
})
