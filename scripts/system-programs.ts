import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { SystemProgram } from '../test/support/service/lack.ts'

/** Test files that have nothing to show without a program of the system. */
export const filesThatNeed: Readonly<Record<SystemProgram, readonly string[]>> = {
  bubblewrap: ['src/server/sandboxes/bubblewrap.test.ts'],
  socat: ['test/e2e/acp.test.ts', 'test/e2e/acp-programs.test.ts', 'test/faults/programs.test.ts'],
  chromium: [
    'test/e2e/docs.test.ts',
    'test/console/agents.test.ts',
    'test/console/first-run.test.ts',
    'test/console/hostile-texts.test.ts',
    'test/console/keys.test.ts',
    'test/console/pages.test.ts',
    'test/console/recovery.test.ts',
    'test/console/session.test.ts',
    'test/console/triggers.test.ts',
    'test/console/usage.test.ts',
  ],
  tmux: ['test/e2e/opencode-terminal.test.ts'],
  gcc: ['bench/upstream/upstream.test.ts'],
  'libc6-dev': ['bench/upstream/upstream.test.ts'],
  wrk: ['bench/upstream/upstream.test.ts'],
  jq: [],
  curl: [],
  prometheus: ['test/e2e/prometheus.test.ts'],
}

/** The programs that are missing here, or that this machine does not let work. */
export function lackingPrograms(): SystemProgram[] {
  const namespaces = ['--ro-bind', '/', '/', '--unshare-all', 'true']
  const hasBubblewrap = spawnSync('bwrap', namespaces, { stdio: 'ignore' }).status === 0
  return [
    ...(hasBubblewrap ? [] : ['bubblewrap' as const]),
    ...Object.entries(files).flatMap(([program, file]) => (existsSync(file) ? [] : [program as keyof typeof files])),
  ]
}

/** A file of each package that is there when it is installed. */
const files = {
  socat: '/usr/bin/socat',
  chromium: '/usr/bin/chromium',
  tmux: '/usr/bin/tmux',
  gcc: '/usr/bin/cc',
  'libc6-dev': '/usr/include/stdio.h',
  wrk: '/usr/bin/wrk',
  jq: '/usr/bin/jq',
  curl: '/usr/bin/curl',
  prometheus: '/usr/bin/prometheus',
} as const satisfies Partial<Record<SystemProgram, string>>
