import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileNameOf } from './file-name.ts'

test('names of files are safe in folders and commands', () => {
  const cases: [string | undefined, string][] = [
    ['report.pdf', 'report.pdf'],
    ['Übersicht (2).xlsx', 'Übersicht (2).xlsx'],
    ['../../etc/passwd', 'passwd'],
    ['C:\\Users\\Ada\\notes.txt', 'notes.txt'],
    ['-rf', 'rf'],
    ['.bashrc', 'bashrc'],
    ['...', 'file.png'],
    ['', 'file.png'],
    [undefined, 'file.png'],
    ['a\u0000b\u202ec.txt\n', 'abc.txt'],
    ['a$(id)`b`;c|d&e.txt', 'a_(id)_b__c_d_e.txt'],
    ['x/', 'file.png'],
  ]
  for (const [given, expected] of cases) assert.equal(fileNameOf(given, 'image/png'), expected, given)
  assert.equal(fileNameOf('', 'application/x-tar'), 'file.bin')
})

test('long names are shortened, but keep their extension', () => {
  const name = fileNameOf(`${'ü'.repeat(300)}.tar`, 'application/x-tar')
  assert.ok(Buffer.byteLength(name) <= 100 && name.endsWith('ü.tar'), name)
  assert.equal(Buffer.byteLength(fileNameOf(`.${'x'.repeat(300)}`, 'text/plain')), 100)
})
