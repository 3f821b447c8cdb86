import assert from 'node:assert/strict'
import { createJobs } from './jobs.ts'
import type { RunServices } from './tool.ts'

/** What the tools of a run share: no jobs yet, and a model that reads text only. */
export const servicesForTests = (changes: Partial<RunServices> = {}): RunServices => ({
  jobs: createJobs()(new AbortController().signal),
  model: { name: 'test', images: false, documents: false },
  web: {
    canSearch: false,
    fetch: async () => assert.fail('the web is not part of this test'),
    search: async () => assert.fail('the web is not part of this test'),
  },
  ...changes,
})
