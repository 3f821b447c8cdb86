import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cgroupPlaces } from './cgroup.ts'

const unified = (at: string, root = '/') => `30 23 0:26 ${root} ${at} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate`
const legacy = (name: string, root = '/') =>
  `31 23 0:27 ${root} /sys/fs/cgroup/${name} rw,nosuid - cgroup cgroup rw,${name}`
const v2 = (folder: string) => [true, false].map(cpu => ({ version: 2, folder, cpu }))
const plain = '22 1 254:0 / / rw,relatime - ext4 /dev/vda rw'

const table: [guarantee: string, membership: string, mounts: string[], places: unknown][] = [
  [
    'a service gets groups next to its own',
    '0::/system.slice/x.service\n',
    [plain, unified('/sys/fs/cgroup')],
    v2('/sys/fs/cgroup/system.slice'),
  ],
  ['the root group gets groups below itself', '0::/\n', [unified('/sys/fs/cgroup')], v2('/sys/fs/cgroup')],
  [
    'controllers of version 1 are found one by one',
    '5:pids:/\n4:cpu,memory:/a/b\n',
    [legacy('memory'), legacy('pids')],
    [{ version: 1, memory: '/sys/fs/cgroup/memory/a/b', pids: '/sys/fs/cgroup/pids', cpu: undefined }],
  ],
  [
    'a mount of a part of the tree is resolved',
    '5:pids:/docker/x\n4:memory:/docker/x\n',
    [legacy('memory', '/docker/x'), legacy('pids', '/docker/x')],
    [{ version: 1, memory: '/sys/fs/cgroup/memory', pids: '/sys/fs/cgroup/pids', cpu: undefined }],
  ],
  [
    'both versions are candidates when both are mounted',
    '5:pids:/\n4:memory:/\n0::/\n',
    [unified('/sys/fs/cgroup/unified'), legacy('memory'), legacy('pids')],
    [
      ...v2('/sys/fs/cgroup/unified'),
      { version: 1, memory: '/sys/fs/cgroup/memory', pids: '/sys/fs/cgroup/pids', cpu: undefined },
    ],
  ],
  [
    'L7: processors are limited when the controller exists; otherwise the other limits remain',
    '5:pids:/\n4:memory:/\n3:cpu,cpuacct:/\n',
    [legacy('memory'), legacy('pids'), legacy('cpu,cpuacct')],
    [
      {
        version: 1,
        memory: '/sys/fs/cgroup/memory',
        pids: '/sys/fs/cgroup/pids',
        cpu: '/sys/fs/cgroup/cpu,cpuacct',
      },
      { version: 1, memory: '/sys/fs/cgroup/memory', pids: '/sys/fs/cgroup/pids', cpu: undefined },
    ],
  ],
  ['a single controller is not sufficient', '4:memory:/\n', [legacy('memory')], []],
  ['a system without control groups yields no candidate', '', [plain], []],
]

for (const [guarantee, membership, mounts, places] of table) {
  test(guarantee, () => assert.deepEqual(cgroupPlaces(membership, mounts.join('\n')), places))
}
