<?php

/** Writes nothing. */
class ApnsPHP_Log_Silent implements ApnsPHP_Log_Interface
{
    public function log($sMessage)
    {
    }
}
