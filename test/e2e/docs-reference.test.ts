import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { referencePages } from '../../scripts/reference-pages.ts'

const root = join(import.meta.dirname, '..', '..')

for (const [path, text] of Object.entries(await referencePages()))
  test(`${path} is up to date: npm run reference writes it`, () => {
    assert.equal(readFileSync(join(root, path), 'utf8'), text)
  })
