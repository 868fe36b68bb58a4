<?php

/** Writes to PHP's error log. */
class ApnsPHP_Log_Error implements ApnsPHP_Log_Interface
{
    public function log($sMessage)
    {
        error_log(' ApnsPHP: ' . trim($sMessage));
    }
}
